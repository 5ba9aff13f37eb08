"""Apache Spark: records of a cluster, in parts by person. ``discreet.scan(…, engine=session)`` makes them."""
