import { randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { SummedRefusals } from '../../audit/summed-refusals.js';
import { PanelError } from '../../errors/panel-error.js';
import type { SignInWays } from '../../shapes/identity.js';
import type { Client } from '../sessions.js';
import { providerAttempt, type Throttle } from '../throttle.js';
import type { AdmitPerson } from './admit-person.js';
import { deriveState, type SsoAttempt } from './sso-attempt.js';
import { SsoError } from './sso-error.js';
import type { SsoProvider } from './sso-provider.js';

/** Signs people in with OpenID Connect providers. */
export class Sso {
  constructor(
    private readonly providers: ReadonlyMap<string, SsoProvider>,
    private readonly throttle: Throttle,
    private readonly admitPerson: AdmitPerson,
    private readonly passwords: boolean,
    private readonly refusals: SummedRefusals,
  ) {}

  ways(): SignInWays {
    const providers = [...this.providers.values()].map(({ shown }) => shown);
    return { passwords: this.passwords, providers: providers.sort((one, other) => one.name.localeCompare(other.name)) };
  }

  /** Returns the provider's address for this attempt. @throws {SsoError}, {PanelError} `not_found` */
  async start(name: string, attempt: SsoAttempt, confirm: boolean): Promise<URL> {
    return this.requireProvider(name).signInAddress(attempt, confirm);
  }

  /**
   * Signs in the person with whom the browser came back. Returns the session's secret. Failures count towards a limit of their address
   * and are in the journal, except where this browser began no sign-in: any page of another site may lead there.
   * @throws {SsoError}, {PanelError} `not_found`, `rate_limit_exceeded`
   */
  async finish(name: string, query: URLSearchParams, attempt: SsoAttempt | undefined, client: Client, author: Author): Promise<string> {
    const provider = this.requireProvider(name);
    if (!attempt || query.get('state') !== deriveState(attempt, name))
      throw new SsoError('expired', 'this browser did not begin the sign-in');
    const { requestId } = author.caller;
    const attempted = providerAttempt(requestId ?? randomUUIDv7(), client.address);
    const forget = await this.throttle.run(attempted, async (forget) => forget);
    try {
      const person = await provider.redeem(query, attempt);
      const secret = await this.admitPerson.admit(name, person, client, author);
      await forget();
      return secret;
    } catch (error) {
      if (!(error instanceof SsoError)) throw error;
      if (error.failure === 'unavailable') await forget();
      const target = error.userId === undefined ? 'user/unknown' : `user/${error.userId}`;
      await this.refusals.record(author, { action: 'session.refuse', target, reason: `${name}: ${error.reason}` }, { by: attempted.where });
      throw error;
    }
  }

  private requireProvider(name: string): SsoProvider {
    const provider = this.providers.get(name);
    if (!provider) throw new PanelError('not_found', 'There is no provider with this name.');
    return provider;
  }
}
