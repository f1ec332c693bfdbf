import * as oidc from 'openid-client';
import type { SignInProvider } from '../../shapes/identity.js';
import { parseEmail } from '../email-address.js';
import type { GrantRow } from '../grants.js';
import { type GroupRole, grantGroupRoles, parseGroupRoles } from './group-roles.js';
import { demandSecure } from './provider-fetch.js';
import { deriveNonce, deriveState, deriveVerifier, type SsoAttempt } from './sso-attempt.js';
import { SsoError, toSsoError } from './sso-error.js';
import { isEntra, type SsoProviderConfig } from './sso-provider.config.js';

const ANSWER_SECONDS = 10;
/** Milliseconds for which the addresses and abilities of a provider are kept. */
const DISCOVERED_MS = 3_600_000;

/** A person as a provider vouches for them. */
export interface VouchedPerson {
  issuer: string;
  subject: string;
  /** In lower case. Undefined unless the provider has verified the address, or the operator trusts it for the domain. */
  email: string | undefined;
  name: string | undefined;
  /** Roles that the person's groups give. */
  roles: GrantRow[];
  /** Time at which the person authenticated with the provider. Undefined when the provider does not say. */
  authenticatedAt: Date | undefined;
}

/** One OpenID Connect provider: authorization code flow with PKCE. It is asked only when a person signs in. */
export class SsoProvider {
  readonly shown: SignInProvider;
  private readonly redirectUri: string;
  private readonly groupRoles: readonly GroupRole[];
  private readonly trustedDomains: ReadonlySet<string>;
  private discovered: { configuration: Promise<oidc.Configuration>; at: number } | undefined;

  constructor(
    private readonly name: string,
    private readonly config: SsoProviderConfig,
    panelUrl: string,
    private readonly fetch: oidc.CustomFetch,
  ) {
    this.shown = { name, label: config.label === 'none' ? name : config.label };
    this.redirectUri = `${panelUrl}/panel/v1/sso/${name}/callback`;
    this.groupRoles = parseGroupRoles(config.groupRoles);
    this.trustedDomains = new Set(parseDomains(config.trustedEmailDomains));
  }

  /** Returns the address to which the browser goes. `confirm`: the provider asks the person again. @throws {SsoError} */
  signInAddress(attempt: SsoAttempt, confirm: boolean): Promise<URL> {
    return this.ask(async (configuration) => {
      const address = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: this.redirectUri,
        scope: this.config.scope,
        state: deriveState(attempt, this.name),
        nonce: deriveNonce(attempt),
        code_challenge: await oidc.calculatePKCECodeChallenge(deriveVerifier(attempt)),
        code_challenge_method: 'S256',
        // With `max_age` the provider must say when it asked the person.
        ...(confirm && { prompt: 'login', max_age: '0' }),
      });
      demandSecure(address);
      return address;
    });
  }

  /** Exchanges the code with which the browser came back. @throws {SsoError} */
  redeem(query: URLSearchParams, attempt: SsoAttempt): Promise<VouchedPerson> {
    return this.ask(async (configuration) => {
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(`${this.redirectUri}?${query}`), {
        expectedState: deriveState(attempt, this.name),
        expectedNonce: deriveNonce(attempt),
        pkceCodeVerifier: deriveVerifier(attempt),
      });
      const claims = tokens.claims();
      if (!claims) throw new SsoError('refused', 'no ID token');
      return this.toPerson(claims, await this.furtherClaims(configuration, tokens.access_token, claims));
    });
  }

  /** Claims that the ID token lacks: many providers put e-mail and groups behind the userinfo endpoint alone. */
  private async furtherClaims(
    configuration: oidc.Configuration,
    accessToken: string,
    claims: oidc.IDToken,
  ): Promise<oidc.UserInfoResponse> {
    const isComplete = 'email_verified' in claims && (this.groupRoles.length === 0 || this.config.groupsClaim in claims);
    if (isComplete || !configuration.serverMetadata().userinfo_endpoint) return { sub: claims.sub };
    return oidc.fetchUserInfo(configuration, accessToken, claims.sub);
  }

  private toPerson(claims: oidc.IDToken, further: oidc.UserInfoResponse): VouchedPerson {
    const claimed: unknown = claims[this.config.groupsClaim] ?? further[this.config.groupsClaim];
    const groups: unknown[] = Array.isArray(claimed) ? claimed : [claimed];
    const name = claims.name ?? further.name;
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: this.verifiedEmail(claims, further),
      name: typeof name === 'string' && name !== '' ? name.slice(0, 200) : undefined,
      roles: grantGroupRoles(
        groups.filter((group) => typeof group === 'string'),
        this.groupRoles,
      ),
      authenticatedAt: claims.auth_time === undefined ? undefined : new Date(claims.auth_time * 1_000),
    };
  }

  private verifiedEmail(claims: oidc.IDToken, further: oidc.UserInfoResponse): string | undefined {
    // Address and verification come from one source: they belong together.
    const source = [claims, further].find((one) => 'email_verified' in one) ?? ('email' in claims ? claims : further);
    const email = typeof source.email === 'string' ? parseEmail(source.email) : undefined;
    if (email === undefined || source.email_verified === true) return email;
    return !('email_verified' in source) && this.isTrusted(email, claims) ? email : undefined;
  }

  /**
   * Entra ID says by `xms_edov` whether the owner of the address's domain has verified it, if the app asks for that claim. Without the claim
   * no address of Entra ID is trusted: a guest's is what the guest's own tenant has written. @throws {SsoError} `unverified`
   */
  private isTrusted(email: string, { iss, xms_edov: isDomainOwner }: oidc.IDToken): boolean {
    if (!this.trustedDomains.has(email.replace(/^.*@/, ''))) return false;
    if (isDomainOwner !== undefined) return [true, 1, '1', 'true'].includes(isDomainOwner as string);
    if (isEntra(iss)) throw new SsoError('unverified', 'the ID token has no xms_edov: add this optional claim to the application');
    return true;
  }

  private async ask<Answer>(work: (configuration: oidc.Configuration) => Promise<Answer>): Promise<Answer> {
    try {
      return await work(await this.discover());
    } catch (error) {
      throw toSsoError(error);
    }
  }

  /** Reads the provider's discovery document; many sign-ins at once read it once. A failed discovery is repeated by the next sign-in. */
  private discover(): Promise<oidc.Configuration> {
    if (this.discovered && performance.now() - this.discovered.at < DISCOVERED_MS) return this.discovered.configuration;
    const { issuer, clientId, clientSecret } = this.config;
    const configuration = oidc.discovery(
      new URL(issuer),
      clientId,
      undefined,
      // Every provider must accept the password of a client in this way (RFC 6749).
      clientSecret === 'none' ? oidc.None() : oidc.ClientSecretBasic(clientSecret),
      {
        timeout: ANSWER_SECONDS,
        [oidc.customFetch]: this.fetch,
        // Checks the signature of the ID token too, which TLS alone would vouch for.
        execute: [oidc.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [])],
      },
    );
    this.discovered = { configuration, at: performance.now() };
    configuration.catch(() => {
      this.discovered = undefined;
    });
    return configuration;
  }
}

function parseDomains(text: string): string[] {
  return text === 'none' ? [] : text.split(',').map((domain) => domain.trim().toLowerCase());
}
