import { type DynamicModule, Module } from '@nestjs/common';
import type { PrismaClient } from '#database/prisma-client.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import type { Logger } from '#observability/logger.js';
import type { SummedRefusals } from '../audit/summed-refusals.js';
import { Invites } from '../identity/invites.js';
import { Members } from '../identity/members.js';
import { Passkeys } from '../identity/passkeys.js';
import { Passwords } from '../identity/passwords.js';
import { People } from '../identity/people.js';
import { SecondFactors } from '../identity/second-factors.js';
import type { Sessions } from '../identity/sessions.js';
import { SignIn } from '../identity/sign-in.js';
import { AdmitPerson } from '../identity/sso/admit-person.js';
import { providerFetch } from '../identity/sso/provider-fetch.js';
import { Sso } from '../identity/sso/sso.js';
import { AttemptCookie } from '../identity/sso/sso-attempt.js';
import type { SsoProviderConfig } from '../identity/sso/sso-provider.config.js';
import { SsoProvider } from '../identity/sso/sso-provider.js';
import { TenantMembers } from '../identity/tenant-members.js';
import { Throttle } from '../identity/throttle.js';
import { InviteMails } from '../mail/invite-mails.js';
import { InviteRates } from '../mail/invite-rates.js';
import type { Mailer } from '../mail/mailer.js';
import type { PanelConfig } from '../panel.config.js';
import { InvitesController } from './invites.controller.js';
import { MeController } from './me.controller.js';
import { MembersController } from './members.controller.js';
import { OperatorController } from './operator.controller.js';
import { SecondFactorsController } from './second-factors.controller.js';
import { SessionController } from './session.controller.js';
import { SsoController } from './sso.controller.js';
import { TokensController } from './tokens.controller.js';

interface IdentityDependencies {
  config: PanelConfig;
  prisma: PrismaClient;
  /** Connections for sign-ins alone, so that no page waits for a flood of them. */
  signIns: PrismaClient;
  /** Settings of the providers of OpenID Connect by name. */
  providers: ReadonlyMap<string, SsoProviderConfig>;
  sessions: Sessions;
  refusals: SummedRefusals;
  mailer: Mailer;
  logger: Logger;
}

@Module({
  controllers: [
    SessionController,
    SsoController,
    MeController,
    SecondFactorsController,
    MembersController,
    InvitesController,
    TokensController,
    OperatorController,
  ],
})
class IdentityModule {}

/** Sign-in, people, members, invites and tokens. */
export function identityModule({
  config,
  prisma,
  signIns,
  providers,
  sessions,
  refusals,
  mailer,
  logger,
}: IdentityDependencies): DynamicModule {
  const passwords = new Passwords(config.panelPasswords === 'on');
  const throttle = new Throttle(signIns);
  const secondFactors = new SecondFactors(prisma, signIns, new Passkeys(signIns, config.panelUrl), throttle, refusals);
  const signIn = new SignIn(signIns, passwords, sessions, throttle, refusals, secondFactors);
  const fetchProvider = providerFetch(new ForwardProxies(config));
  const ssoProviders = new Map([...providers].map(([name, one]) => [name, new SsoProvider(name, one, config.panelUrl, fetchProvider)]));
  const sso = new Sso(ssoProviders, throttle, new AdmitPerson(signIns, sessions), passwords.isOn, refusals);
  const invites = new Invites(prisma, signIns, passwords, sessions, signIn, secondFactors, config.panelUrl, providers.size > 0);
  return {
    module: IdentityModule,
    exports: [Members],
    providers: [
      { provide: AttemptCookie, useValue: new AttemptCookie(config.panelUrl) },
      { provide: Sso, useValue: sso },
      { provide: SignIn, useValue: signIn },
      { provide: SecondFactors, useValue: secondFactors },
      { provide: People, useValue: new People(prisma, passwords, signIn) },
      { provide: Members, useValue: new Members(prisma) },
      { provide: Invites, useValue: invites },
      { provide: TenantMembers, useValue: new TenantMembers(prisma, config.panelUrl) },
      { provide: InviteMails, useValue: new InviteMails(mailer, new InviteRates(), (inviteId) => invites.isOpen(inviteId), logger) },
    ],
  };
}
