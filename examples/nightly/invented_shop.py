"""Writes the exports of an invented shop: orders.csv and catalog.csv for every night, to try nightly.sh with.

    python invented_shop.py FOLDER DATE [DATE …]

Every export has all orders of the year up to its date, as a full export has.
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, datetime, time, timedelta
from pathlib import Path

CATEGORIES = ("tea", "coffee", "spices", "honey")
ITEMS = [(f"SKU-{number}", CATEGORIES[number % 4]) for number in range(60)]


def orders(until: date, customers: int = 400) -> list[tuple[str, str, str]]:
    """All orders of the year up to a day: most customers keep to one category."""
    rows = []
    for customer in range(customers):
        own = random.Random(customer)  # the same orders whatever the last day is
        taste = own.choice(CATEGORIES)
        for _ in range(own.randint(5, 20)):
            likely = [4 if category == taste else 1 for _, category in ITEMS]
            (sku, _), day = own.choices(ITEMS, likely)[0], date(until.year, 1, 1) + timedelta(days=own.randrange(365))
            if day <= until:
                rows.append((f"c{customer}", sku, datetime.combine(day, time(own.randrange(24))).isoformat()))
    return sorted(rows, key=lambda row: row[2])


def main(folder: Path, *nights: str) -> None:
    """Write the export of each night into a folder of its own."""
    for night in nights:
        (folder / night).mkdir(parents=True, exist_ok=True)
        tables = {
            "orders.csv": [("customer", "sku", "ordered_at"), *orders(date.fromisoformat(night))],
            "catalog.csv": [("sku", "category"), *ITEMS],
        }
        for name, rows in tables.items():
            with (folder / night / name).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
