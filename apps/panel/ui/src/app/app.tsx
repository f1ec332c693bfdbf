import { useQuery } from '@tanstack/react-query';
import { useRoute } from 'wouter';
import type { AccountListReply } from '../../../src/shapes/billing.js';
import type { MeReply } from '../../../src/shapes/identity.js';
import { ApiError, callOnce } from '../data/api.js';
import { SessionProvider } from '../data/session.js';
import { Opening } from './entrance.js';
import { Interruptions, SsoFailureDialog } from './interruptions.js';
import { Routes } from './routes.js';
import { Shell } from './shell.js';
import { SignIn } from './sign-in.js';
import { Welcome } from './welcome.js';

/** Accounts that the switcher knows; the page Accounts has all. */
const ACCOUNTS_MAX = 200;

/** Asks for the person and the accounts at once, then shows the panel, or the sign-in. */
export function App() {
  const [isWelcome] = useRoute('/welcome');
  const start = useQuery({
    queryKey: ['start'],
    queryFn: loadStart,
    enabled: !isWelcome,
    staleTime: 60_000,
    meta: { handles: ['authentication_required'] },
  });
  if (isWelcome) return <Welcome />;
  if (start.data) {
    return (
      <SessionProvider {...start.data}>
        <Shell>
          <Routes />
        </Shell>
        <Interruptions me={start.data.me} />
        <SsoFailureDialog />
      </SessionProvider>
    );
  }
  const { error } = start;
  if (error instanceof ApiError && error.code === 'authentication_required') return <SignIn />;
  return <Opening title="Tollgate" />;
}

async function loadStart(): Promise<{ me: MeReply } & Pick<AccountListReply, 'accounts' | 'projects'>> {
  const [me, { accounts, projects }] = await Promise.all([
    callOnce<MeReply>('GET', '/me'),
    callOnce<AccountListReply>('GET', `/accounts?limit=${ACCOUNTS_MAX}`),
  ]);
  return { me, accounts, projects };
}
