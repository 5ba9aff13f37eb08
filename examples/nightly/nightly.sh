#!/usr/bin/env bash
# One night of a shop: a private model from tonight's export, and lists for everybody from that model.
#
#   nightly.sh [DATE]        DATE is the last day in the export; yesterday unless given
#
# Exit codes: 0  the lists are those of tonight's model
#             3  the last model stays, and the lists are made with it and tonight's records: no budget is left, the
#                series is over, or the year has just begun
#             any other: a step failed, model and lists stay as they were. Run it again with the same DATE.
set -euo pipefail
umask 077

: "${SHOP:=/srv/shop}"                # everything that this job reads and writes is below this folder
: "${LEDGER:=$SHOP/ledger.db}" "${POPULATION:=customers}" # the ledger, and the account in it
: "${EPSILON:=0.16}" "${DELTA:=1e-6}" # what one night may spend: discreet ledger plan
: "${NEW_YEAR:=01-01}"                # before this day of a year the model of the last year stays in use
: "${SERIES_FROM:=}"                  # the first day of a series; empty: each night pays for itself
: "${SERIES_STEPS:=365}"
: "${DISCREET:=discreet}"             # the program

DATE=${1:-$(date -d yesterday +%F)}
EXPORT=$SHOP/exports/$DATE            # orders.csv and catalog.csv; never changed once they are there
KEY=$POPULATION-$DATE                 # a run that is repeated under its key is charged as docs/ledger.md says
# How orders.csv is read. Its window is the year of DATE, since the account is kept per year.
READING=(--column user=customer --column item=sku --column timestamp=ordered_at
         --duplicates keep --window "${DATE%%-*}")
# Whose data tonight's export are, and what is charged.
CHARGED=(--population "$POPULATION" --ledger "$LEDGER")

mkdir -p "$SHOP"/{models,lists,logs}
exec 3>&2 >>"$SHOP/logs/$DATE.log" 2>&1
say() { local line; line="$(date -u +%FT%TZ) $DATE $*"; echo "$line"; echo "$line" >&3; }
trap 'say "failed with exit code $?; run it again with the same date"' ERR

# One run at a time. Every program that this one starts holds the lock, too: it is free when the last of them ended.
exec 9>"$SHOP/nightly.lock"
flock -n 9 || { say "another run is not finished"; exit 75; }

[[ -f $EXPORT/orders.csv && -f $EXPORT/catalog.csv ]] || { say "there is no export in $EXPORT"; exit 66; }

# The model of tonight goes to models/DATE. The export is attached to the population when it is charged.
code=0
if [[ -n $SERIES_FROM ]]; then
  step=$(( ($(date -ud "$DATE" +%s) - $(date -ud "$SERIES_FROM" +%s)) / 86400 ))
  if (( step < SERIES_STEPS )); then
    "$DISCREET" series advance "$SHOP/series" "$EXPORT/orders.csv" "${READING[@]}" --catalog "$EXPORT/catalog.csv" \
      --step "$step" "${CHARGED[@]}" --out "$SHOP/models/$DATE" --overwrite || code=$?
  else
    code=3
  fi
elif [[ ${DATE#*-} < $NEW_YEAR ]]; then
  code=3
else
  "$DISCREET" fit "$EXPORT/orders.csv" "${READING[@]}" --catalog "$EXPORT/catalog.csv" \
    --epsilon "$EPSILON" --delta "$DELTA" --key "$KEY" "${CHARGED[@]}" --out "$SHOP/models/$DATE" || code=$?
fi
last=$(readlink "$SHOP/models/current" || true)
case $code in
  0) # Point models/current to it, in one rename. A repeated run of an older night does not point back.
    if [[ ! $last > $DATE ]]; then
      ln -sfn "$DATE" "$SHOP/models/next"
      mv -T "$SHOP/models/next" "$SHOP/models/current"
    fi ;;
  3) say "no new model: serving goes on with that of ${last:-no night}" ;;
  *) say "no new model: exit code $code; run it again with the same date"; exit "$code" ;;
esac

# Lists for every customer and for every item, from the current model. They cost nothing, and both files appear whole.
# What a killed run left half-written, under a hidden name, is removed: it holds people's lists.
find "$SHOP/lists" -maxdepth 1 -name '.discreet-*' -delete
"$DISCREET" recommend "$SHOP/models/current" --all -n 20 --data "$EXPORT/orders.csv" "${READING[@]}" \
  --out "$SHOP/lists/recommendations.parquet" --overwrite
"$DISCREET" similar "$SHOP/models/current" --all -n 10 --feature category --data "$EXPORT/orders.csv" "${READING[@]}" \
  --catalog "$EXPORT/catalog.csv" --out "$SHOP/lists/similar.parquet" --overwrite
say "lists are written, with the model of $(readlink "$SHOP/models/current")"
exit "$code"
