"""The nightly job as an Airflow DAG (Airflow 2.11 and 3): put it into the folder of DAGs.

The day of a run is the first day of its data interval, so a run that is cleared or repeated has the key of its night.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

try:
    from airflow.providers.standard.operators.bash import BashOperator
except ImportError:  # Airflow 2
    from airflow.operators.bash import BashOperator

SETTINGS = {
    "SHOP": "/srv/shop",
    "POPULATION": "customers",
    "EPSILON": "0.16",
    "DELTA": "1e-6",
    "DISCREET": "/opt/discreet/venv/bin/discreet",
}

with DAG(
    "discreet_nightly",
    schedule=CronDataIntervalTimetable("30 2 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
) as dag:
    BashOperator(
        task_id="night",
        bash_command="/opt/discreet/nightly.sh {{ data_interval_start | ds }}",
        env=SETTINGS,
        append_env=True,
        retries=2,
        retry_delay=timedelta(minutes=5),
        # The last model stays: the lists are there, and the task is shown as skipped.
        skip_on_exit_code=3,
    )
