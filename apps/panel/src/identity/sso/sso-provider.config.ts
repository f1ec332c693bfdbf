import { IsString, Matches, MinLength } from 'class-validator';
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
  @Matches(GROUP_ROLES, { message: 'must be none or a list such as admins=admin,team-a=owner:<account-id>' }) groupRoles = 'none';
}
