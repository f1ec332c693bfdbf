import { IsString, Matches, MinLength, ValidateBy, type ValidationArguments } from 'class-validator';
import { GROUP_ROLES } from './group-roles.js';

/** Prefix of the settings of providers: `PANEL_OIDC_<NAME>_ISSUER`. */
export const PROVIDERS_PREFIX = 'PANEL_OIDC_';

/** An https address, or one of loopback. A provider over plain http elsewhere could be impersonated on the way. */
const ISSUER = /^https:\/\/[^\s?#@]+$|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?(\/[^\s?#@]*)?$/;

/** Settings of one OpenID Connect provider. */
export class SsoProviderConfig {
  @Matches(ISSUER, { message: 'must be an https address; http only for localhost, 127.0.0.1 and [::1]' }) issuer = '';
  @IsString() @MinLength(1) clientId = '';
  /** `none` for a public client, which proves itself by PKCE alone. */
  @IsString() @MinLength(1) clientSecret = 'none';
  /** The provider's name on the page; `none`: the name in the settings. */
  @IsString() @MinLength(1) label = 'none';
  @Matches(/^openid( [\w:./-]+)*$/, { message: 'must be openid and further scopes, separated by spaces' }) scope = 'openid email profile';
  /** The claim with the names of a person's groups. */
  @IsString() @MinLength(1) groupsClaim = 'groups';
  /**
   * Domains whose addresses count as verified although the provider does not say `email_verified`, separated by commas: Entra ID leaves that
   * out. Only for an issuer of one tenant, because in others every tenant writes any address into its tokens.
   */
  @IsTrustedEmailDomains() trustedEmailDomains = 'none';
  @Matches(GROUP_ROLES, { message: 'must be none or a list such as admins=admin,team-a=owner:<account-id>' }) groupRoles = 'none';
}

const DOMAINS = /^none$|^\s*[a-z\d-]+(\.[a-z\d-]+)+(\s*,\s*[a-z\d-]+(\.[a-z\d-]+)+)*\s*$/i;

/** Hosts of Entra ID, where the first part of an issuer's path is the tenant. */
const ENTRA =
  /^https:\/\/(login\.microsoftonline\.(com|us)|login\.partner\.microsoftonline\.cn|sts\.(windows\.net|chinacloudapi\.cn)|[^/]+\.ciamlogin\.com)(\/|$)/i;
const TENANT_ID = /^https:\/\/[^/]+\/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(\/|$)/i;
/** Parts of issuers that stand for many tenants. The id is that of all personal accounts of Microsoft. */
const MANY_TENANTS = /\/(common|organizations|consumers|\{tenantid\}|9188040d-6c67-4c5b-b112-36a304b66dad)(\/|$)/i;

/** True for an issuer of Entra ID. */
export function isEntra(issuer: string): boolean {
  return ENTRA.test(issuer);
}

function IsTrustedEmailDomains(): PropertyDecorator {
  const fault = (value: unknown, issuer: string): string | undefined => {
    if (typeof value !== 'string' || !DOMAINS.test(value)) return 'must be none or domains such as example.com, separated by commas';
    if (value === 'none' || (!MANY_TENANTS.test(issuer) && (!isEntra(issuer) || TENANT_ID.test(issuer)))) return undefined;
    return 'needs the issuer of one tenant, https://login.microsoftonline.com/<tenant id>/v2.0: in others any tenant can write any address';
  };
  const readIssuer = (args?: ValidationArguments): string => (args?.object as SsoProviderConfig | undefined)?.issuer ?? '';
  return ValidateBy({
    name: 'isTrustedEmailDomains',
    validator: {
      validate: (value, args) => fault(value, readIssuer(args)) === undefined,
      defaultMessage: (args) => fault(args?.value, readIssuer(args)) ?? '',
    },
  });
}
