import { IsIn, IsInt, IsString, Max, Min, MinLength } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';
import { IsPostgresUrl } from '#database/postgres-url.js';

/** Settings of the catalog service. The name of a variable is the name of its field in capitals. */
export class CatalogConfig extends ServiceConfig {
  @IsPostgresUrl() databaseUrl = '';
  /** Catalog file, applied at start when it has changed since the last start; `none`: the catalog comes from requests alone. */
  @IsString() @MinLength(1) catalogFile = 'config/catalog.yaml';
  /** `off`: the file is the only source of the catalog, and applies and scheduled prices of callers are refused. */
  @IsIn(['on', 'off']) catalogEditing: 'on' | 'off' = 'on';
  /** `off`: texts of the panel cannot give an upstream `allowPrivateNetwork`, nor another `baseUrl` to one that has it. */
  @IsIn(['on', 'off']) panelPrivateNetwork: 'on' | 'off' = 'on';
  /** Milliseconds between reads of the revision, for events that were lost. */
  @IsInt() @Min(100) @Max(3_600_000) catalogRefreshMs = 5_000;
}
