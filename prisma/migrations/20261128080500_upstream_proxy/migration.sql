-- `off`, or the address of the forward proxy through which an upstream is called. Null: that of the inference-proxy's environment.

ALTER TABLE catalog.upstream ADD COLUMN proxy text;
