import { IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';

/** Settings of the catalog service, each from the variable of the same name in capitals. */
export class CatalogConfig extends ServiceConfig {
  @IsString() @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// URL' }) databaseUrl = '';
  /** The catalog applied at start, when it is another one than at the last start. */
  @IsString() @MinLength(1) catalogFile = 'config/catalog.yaml';
  /** How often a replica looks for a revision whose event it missed. */
  @IsInt() @Min(100) @Max(3_600_000) catalogRefreshMs = 5_000;
}
