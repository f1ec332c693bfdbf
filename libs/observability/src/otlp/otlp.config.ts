import { IsIn, Matches } from 'class-validator';

/** Accepts a URL, or nothing. */
export const IsUrlOrNothing = (): PropertyDecorator =>
  Matches(/^(https?:\/\/\S+)?$/, { message: 'must be a URL that begins with http:// or https://' });

/** Settings that traces and metrics share, under the names that OpenTelemetry's specification gives them. The exporters read them themselves. */
export class OtlpConfig {
  @IsUrlOrNothing() otelExporterOtlpEndpoint = '';
  /** The only protocol there is. Another one is refused, because its endpoint would not understand this one. */
  @IsIn(['http/protobuf']) otelExporterOtlpProtocol = 'http/protobuf';
}
