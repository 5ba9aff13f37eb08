"""Tables with published domains: Adult, the 1999 intrusion data of the KDD Cup, tables of zeros and ones.

Domains are those that the documentation of a dataset declares. Where it has no upper end (money, durations, counts),
the end here is far above the values that it mentions, with bins of growing width.

References
----------
B. Becker and R. Kohavi, "Adult", UCI Machine Learning Repository, 1996.
S. Stolfo et al., "KDD Cup 1999 Data", UCI KDD Archive, 1999.
K. G. Manton, "National Long-Term Care Survey", ICPSR 9681.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.domains import IntegerDomain
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import TableDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.generic import read_columns
from discreet.data.readers.layout import Column, Layout, split_header
from discreet.data.readers.records import Records
from discreet.data.values import number_in
from discreet.errors import DataError, Remedy

__all__ = ["FORMATS"]

# Attributes


def _values(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GROWING = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)

# Adult

_ADULT: dict[str, Any] = {
    "age": IntegerDomain(0, 120),
    "workclass": _values(
        "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?"
    ),
    "fnlwgt": IntegerDomain(0, 9_999_999, bins=100),
    "education": _values(
        "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors "
        "Masters Prof-school Doctorate"
    ),
    "education-num": IntegerDomain(1, 16),
    "marital-status": _values(
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse"
    ),
    "occupation": _values(
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
        "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
        "Armed-Forces ?"
    ),
    "relationship": _values("Wife Own-child Husband Not-in-family Other-relative Unmarried"),
    "race": _values("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
    "sex": ("Female", "Male"),
    "capital-gain": IntegerDomain(0, 99_999, bins=GROWING[:-1]),
    "capital-loss": IntegerDomain(0, 99_999, bins=GROWING[:-1]),
    "hours-per-week": IntegerDomain(0, 168, bins=tuple(range(0, 100, 5))),
    "native-country": _values(
        "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece South "
        "China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France "
        "Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
        "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?"
    ),
    "income": ("<=50K", ">50K"),
}
_ADULT_HEADERS = {
    "education-num": ("education-num", "educational-num", "education_num", "education.num"),
    "sex": ("sex", "gender"),
}


def load_adult(place: Location, *, encoding: str = "utf-8") -> TableDraft:
    """All parts of the folder (adult.data, adult.test) are read; '?' is a value."""
    paths = _adult_parts(place) or [place.need("adult.data")]
    return TableDraft(Records.joined(_adult(path, encoding) for path in paths), _ADULT)


def _adult_parts(place: Location) -> list[Path]:
    # The parts of one copy: a folder may hold the same rows in several formats.
    return place.mains("adult.data", "adult.test") or place.mains("adult.csv") or place.mains("adult.parquet*")


def _is_adult(place: Location) -> bool:
    """Whether these are files of Adult by their names and, where they have a header, by their columns.

    A header is no record, so this tells nothing about anybody.
    """
    parts = _adult_parts(place)
    return bool(parts) and all(_adult_columns(path) for path in parts)


def _adult_columns(path: Path) -> bool:
    if ".parquet" in path.name:
        try:
            names = list(pl.read_parquet_schema(path))
        except (OSError, pl.exceptions.PolarsError):
            return True  # the reader says what is wrong with it
    else:
        head = first_line(path, encoding="latin-1")
        names = split_header(head, ",", quoted=False)
        if head.startswith("|") or not names or number_in(names[0].strip()) is not None:
            return True
    names = [name.strip().strip('"') for name in names]
    return all(column.found_in(names) for column in _ADULT_COLUMNS)


_ADULT_COLUMNS = tuple(
    Column(
        name,
        "integer" if isinstance(domain, IntegerDomain) else "text",
        headers=_ADULT_HEADERS.get(name) or tuple(dict.fromkeys(name.replace("-", sign) for sign in "-_.")),
    )
    for name, domain in _ADULT.items()
)


def _adult(path: Path, encoding: str) -> Records:
    if ".parquet" in path.name:
        records = read_columns(path, _ADULT_COLUMNS)
    else:
        head = first_line(path, encoding=encoding)
        separator = ", " if ", " in head or head.startswith("|") else ","
        header = head.strip('"').casefold().startswith("age")
        # adult.test begins with a line about the cross validation.
        skip = int(head.startswith("|"))
        layout = Layout(_ADULT_COLUMNS, separator=separator, header=header, quoted=True, encoding=encoding, skip=skip)
        records = read_delimited(path, layout)
    # Its labels end with a full stop.
    return records.with_frame(records.frame.with_columns(pl.col("income").str.strip_suffix(".")))


# KDD Cup 1999

_FRACTIONS = tuple(place / 100 for place in range(101))
_BINARY = IntegerDomain(0, 1)
_COUNT = IntegerDomain(0, 511)
_AMOUNT = IntegerDomain(0, 2**31 - 1, bins=(*GROWING, 1_000_000, 10_000_000, 100_000_000))
_FEW = IntegerDomain(0, 99_999, bins=GROWING[:-1])

_KDD: dict[str, Any] = {
    "duration": IntegerDomain(0, 86_400, bins=GROWING[:-1]),
    "protocol_type": ("tcp", "udp", "icmp"),
    "service": _values(
        "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs exec finger ftp "
        "ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 icmp imap4 IRC iso_tsap klogin kshell "
        "ldap link login mtp name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 "
        "printer private red_i remote_job rje shell smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time "
        "urh_i urp_i uucp uucp_path vmnet whois X11 Z39_50"
    ),
    "flag": _values("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"),
    "src_bytes": _AMOUNT,
    "dst_bytes": _AMOUNT,
    "land": _BINARY,
    "wrong_fragment": IntegerDomain(0, 3),
    "urgent": IntegerDomain(0, 14),
    "hot": _FEW,
    "num_failed_logins": IntegerDomain(0, 5),
    "logged_in": _BINARY,
    "num_compromised": _FEW,
    "root_shell": _BINARY,
    "su_attempted": IntegerDomain(0, 2),
    "num_root": _FEW,
    "num_file_creations": _FEW,
    "num_shells": IntegerDomain(0, 5),
    "num_access_files": _FEW,
    "num_outbound_cmds": _BINARY,
    "is_host_login": _BINARY,
    "is_guest_login": _BINARY,
    "count": _COUNT,
    "srv_count": _COUNT,
    **dict.fromkeys(_values("serror_rate srv_serror_rate rerror_rate srv_rerror_rate"), _FRACTIONS),
    **dict.fromkeys(_values("same_srv_rate diff_srv_rate srv_diff_host_rate"), _FRACTIONS),
    "dst_host_count": IntegerDomain(0, 255),
    "dst_host_srv_count": IntegerDomain(0, 255),
    **dict.fromkeys(_values("dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate"), _FRACTIONS),
    **dict.fromkeys(_values("dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate"), _FRACTIONS),
    **dict.fromkeys(_values("dst_host_rerror_rate dst_host_srv_rerror_rate"), _FRACTIONS),
    "label": _values(
        "normal back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune nmap perl "
        "phf pod portsweep rootkit satan smurf spy teardrop warezclient warezmaster apache2 httptunnel mailbomb mscan "
        "named processtable ps saint sendmail snmpgetattack snmpguess sqlattack udpstorm worm xlock xsnoop xterm"
    ),
}


def load_kddcup(place: Location) -> TableDraft:
    """Connections, each with 41 features and a label."""
    columns = tuple(
        Column(name, "integer" if isinstance(domain, IntegerDomain) else "number" if domain is _FRACTIONS else "text")
        for name, domain in _KDD.items()
    )
    records = read_delimited(place.need(*_KDD_NAMES), Layout(columns))
    return TableDraft(records.with_frame(records.frame.with_columns(pl.col("label").str.strip_suffix("."))), _KDD)


def _is_kddcup(place: Location) -> bool:
    """Whether a file of that name begins with a record: the original has no header, and other tables have one."""
    path = place.main(*_KDD_NAMES)
    if path is None:
        return False
    return not path.name.endswith(".csv") or number_in(first_line(path, encoding="latin-1").split(",")[0]) is not None


_KDD_NAMES = ("kddcup.data", "kddcup.data_10_percent", "kddcup*.data*", "kddcup.data*", "kddcup*.csv")

# Zeros and ones


def load_binary(place: Location, *, separator: str = "", header: bool | None = None) -> TableDraft:
    """Options: ``separator`` (else a comma, tab, semicolon or blank, as in the first line) and ``header``."""
    path = place.need("nltcs*", "*.ts.data", "*.csv", "*.txt", "*.data", "*.dat")
    head = first_line(path)
    separator = separator or next((s for s in (",", "\t", ";", " ") if s in head), ",")
    fields = [field.strip().strip('"') for field in head.split(separator)]
    header = any(field not in ("0", "1") for field in fields) if header is None else header
    names = fields if header else [f"a{number}" for number in range(1, len(fields) + 1)]
    if len(set(names)) < len(names) or not all(names):
        raise DataError(
            "the first line is neither zeros and ones nor a header of different names.",
            file=path,
            line=1,
            value=head,
            remedy=Remedy("Check the separator; give it with separator=.", cli="Check the separator."),
        )
    columns = tuple(Column(name, "integer") for name in names)
    layout = Layout(columns, separator=separator, header=header, quoted=True)
    return TableDraft(read_delimited(path, layout), dict.fromkeys(names, _BINARY))


FORMATS = (
    Format(
        "adult",
        "Table",
        "Adult (UCI census income): 15 attributes",
        "adult.data, adult.test, adult.csv or adult.parquet",
        _is_adult,
        load_adult,
    ),
    Format(
        "kddcup99",
        "Table",
        "KDD Cup 1999: 42 attributes of network connections",
        "kddcup.data or kddcup.data_10_percent",
        _is_kddcup,
        load_kddcup,
    ),
    Format(
        "binary",
        "Table",
        "Tables of zeros and ones, such as NLTCS",
        "nltcs* (any other file by name of the format)",
        lambda place: place.main("nltcs*") is not None,
        load_binary,
        aliases=("nltcs",),
    ),
)
