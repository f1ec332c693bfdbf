import { type ComponentType, lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { Empty } from '../parts/empty.js';
import { Page } from '../parts/page.js';
import { useSession } from './session.js';

/** Each page is a file of its own, loaded when it is first opened. */
const PAGES: Record<string, ComponentType> = {
  overview: lazy(async () => ({ default: (await import('../pages/overview/overview.js')).Overview })),
  usage: lazy(async () => ({ default: (await import('../pages/usage/usage.js')).Usage })),
  requests: lazy(async () => ({ default: (await import('../pages/requests/requests.js')).Requests })),
  projects: lazy(async () => ({ default: (await import('../pages/projects/projects.js')).Projects })),
  keys: lazy(async () => ({ default: (await import('../pages/keys/keys.js')).Keys })),
  money: lazy(async () => ({ default: (await import('../pages/money/money.js')).MoneyPage })),
  models: lazy(async () => ({ default: (await import('../pages/models/models.js')).Models })),
  members: lazy(async () => ({ default: (await import('../pages/members/members.js')).Members })),
  audit: lazy(async () => ({ default: (await import('../pages/audit/audit.js')).Audit })),
  accounts: lazy(async () => ({ default: (await import('../pages/accounts/accounts.js')).Accounts })),
  upstreams: lazy(async () => ({ default: (await import('../pages/upstreams/upstreams.js')).Upstreams })),
  ledger: lazy(async () => ({ default: (await import('../pages/ledger/ledger.js')).Ledger })),
};
const ExplainedRequest = lazy(async () => ({ default: (await import('../pages/request/request.js')).RequestPage }));
const Profile = lazy(async () => ({ default: (await import('../pages/profile/profile.js')).Profile }));

export function Routes() {
  const { hrefOf } = useSession();
  return (
    <Suspense fallback={null}>
      <Switch>
        {Object.entries(PAGES).map(([name, Content]) => (
          <Route key={name} path={`/a/:account/${name}`}>
            <Content />
          </Route>
        ))}
        <Route path="/requests/:requestId">
          <ExplainedRequest />
        </Route>
        <Route path="/profile">
          <Profile />
        </Route>
        <Route path="/">
          <Redirect to={hrefOf('overview')} replace />
        </Route>
        <Route>
          <Page title="No such page">
            <Empty icon="search" title="The panel has no page with this address" />
          </Page>
        </Route>
      </Switch>
    </Suspense>
  );
}
