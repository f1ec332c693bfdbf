import { IsIn, IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { IsPostgresUrl } from '#database/postgres-url.js';
import { ForwardProxyConfig } from '#network/forward-proxy/forward-proxy.config.js';

/** An https origin, or one of loopback: a browser sends a session over plain http to any other host in the clear. */
const PANEL_URL = /^https:\/\/[^/?#@]+$|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;
const ORIGINS = /^none$|^https?:\/\/[^/?#@,\s]+(\s*,\s*https?:\/\/[^/?#@,\s]+)*$/;

/** An address to which clients append `/v1`. */
const GATEWAY_URL = /^https?:\/\/[^?#@\s]*[^/?#@\s](?<!\/v1)$/;
const GATEWAY_URL_RULE = { message: 'must be an address such as https://ai.example.com, without /v1' };

const TRACE_URL = /^none$|^https?:\/\/\S*\{traceId\}\S*$/;
const TRACE_URL_RULE = { message: 'must be an address with {traceId}, such as https://traces.example.com/trace/{traceId}' };

/** Settings of the panel. Each is read from the environment variable of its name: `panelUrl` from `PANEL_URL`. */
export class PanelConfig extends ForwardProxyConfig {
  @IsPostgresUrl() databaseUrl = '';
  @IsInt() @Min(0) @Max(65535) panelPort = 8081;
  @IsString() @MinLength(1) panelHost = '127.0.0.1';
  /** Origin at which browsers reach the panel. */
  @Matches(PANEL_URL, { message: 'must be an origin such as https://panel.example.com; http only for localhost, 127.0.0.1 and [::1]' })
  panelUrl = 'http://127.0.0.1:8081';
  /** Further origins that may call the API: `none`, or a list separated by commas. They must be of the same site as `panelUrl`. */
  @Matches(ORIGINS, { message: 'must be none or origins such as https://admin.example.com, separated by commas' }) panelOrigins = 'none';
  /** Address at which programs reach the gateway, for the calls that the panel shows with a new key. */
  @Matches(GATEWAY_URL, GATEWAY_URL_RULE) gatewayUrl = 'http://127.0.0.1:8080';
  /** Address at which the panel itself reaches the gateway, for the playground. `none`: `gatewayUrl`. */
  @Matches(new RegExp(`^none$|${GATEWAY_URL.source}`), GATEWAY_URL_RULE) gatewayInternalUrl = 'none';
  /** Page of one trace in the tracing back end, with `{traceId}` in the place of its id. `none`: the panel shows the id without a link. */
  @Matches(TRACE_URL, TRACE_URL_RULE) traceUrl = 'none';
  /** Trusted proxies in front of the panel that append to `X-Forwarded-For`. 0 ignores the header, because any client can send it. */
  @IsInt() @Min(0) @Max(100) trustedProxyHops = 0;
  @IsInt() @Min(1) connectionsMax = 2_000;
  /** Requests of one person and their tokens, in each replica. */
  @IsInt() @Min(1) personRequestsPerSecond = 50;
  /** `off`: people sign in with a provider alone. */
  @IsIn(['on', 'off']) panelPasswords = 'on';
  /** Mail server, `smtps://` with TLS or `smtp://` with STARTTLS. `none`: the panel sends no mail. */
  @Matches(/^none$|^smtps?:\/\/[^/?#@\s]+$/, { message: 'must be none or a server such as smtps://mail.example.com, without a user' })
  smtpUrl = 'none';
  @IsString() @MinLength(1) smtpUser = 'none';
  @IsString() @MinLength(1) smtpPassword = 'none';
  /** Sender of the mails, required with `smtpUrl`. */
  @Matches(/^none$|^([^<>@\r\n]*<[^@\s<>]+@[^@\s<>]+>|[^@\s<>]+@[^@\s<>]+)$/, {
    message: 'must be an address such as tollgate@example.com or Tollgate <tollgate@example.com>',
  })
  smtpFrom = 'none';
  /** Days for which the course of each request is kept. */
  @IsInt() @Min(1) @Max(400) activityDays = 30;

  get ownGatewayUrl(): string {
    return this.gatewayInternalUrl === 'none' ? this.gatewayUrl : this.gatewayInternalUrl;
  }

  get furtherOrigins(): string[] {
    return this.panelOrigins === 'none' ? [] : this.panelOrigins.split(',').map((origin) => origin.trim());
  }
}
