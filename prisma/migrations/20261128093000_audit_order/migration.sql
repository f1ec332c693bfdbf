-- Audit rows of one transaction sort in the order in which it wrote them: the 12 bits after the version hold the microseconds.

CREATE OR REPLACE FUNCTION panel.id_of(moment timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(overlay(uuid_send(gen_random_uuid())
    PLACING int8send((micros / 1000 << 16) | x'7000'::bigint | micros % 1000) FROM 1 FOR 8), 'hex')::uuid
  FROM (SELECT floor(extract(epoch FROM moment) * 1000000)::bigint AS micros) AS clock
$$;
