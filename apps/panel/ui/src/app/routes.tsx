import { type ComponentType, lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { ApiError } from '../data/api.js';
import { loadPage } from '../data/load-page.js';
import { useLate } from '../data/page-failure.js';
import { useSession } from '../data/session.js';
import { ButtonLink } from '../parts/button.js';
import { Empty, Failure, Page } from '../parts/page.js';

function page(load: () => Promise<ComponentType>): ComponentType {
  return lazy(async () => ({ default: await loadPage(load) }));
}

/** Each page is a file of its own, loaded when it is first opened. */
const PAGES: Record<string, ComponentType> = {
  overview: page(async () => (await import('../pages/overview/overview.js')).Overview),
  usage: page(async () => (await import('../pages/usage/usage.js')).Usage),
  requests: page(async () => (await import('../pages/requests/requests.js')).Requests),
  projects: page(async () => (await import('../pages/projects/projects.js')).Projects),
  keys: page(async () => (await import('../pages/keys/keys.js')).Keys),
  playground: page(async () => (await import('../pages/playground/playground.js')).Playground),
  budgets: page(async () => (await import('../pages/budgets/budgets.js')).Budgets),
  money: page(async () => (await import('../pages/money/money.js')).MoneyPage),
  notifications: page(async () => (await import('../pages/notifications/notifications.js')).Notifications),
  models: page(async () => (await import('../pages/models/models.js')).Models),
  members: page(async () => (await import('../pages/members/members.js')).Members),
  audit: page(async () => (await import('../pages/audit/audit.js')).Audit),
  accounts: page(async () => (await import('../pages/accounts/accounts.js')).Accounts),
  upstreams: page(async () => (await import('../pages/upstreams/upstreams.js')).Upstreams),
  services: page(async () => (await import('../pages/services/services.js')).ServicesPage),
  margin: page(async () => (await import('../pages/margin/margin.js')).Margin),
  ledger: page(async () => (await import('../pages/ledger/ledger.js')).Ledger),
};
/** Pages of one thing, below the page that lists them. */
const PAGES_OF_ONE: Record<string, ComponentType> = {
  'models/:model': page(async () => (await import('../pages/models/model.js')).ModelPage),
  'upstreams/:upstream': page(async () => (await import('../pages/upstreams/upstream.js')).UpstreamPage),
  'projects/:projectId': page(async () => (await import('../pages/projects/project.js')).ProjectPage),
};
const ExplainedRequest = page(async () => (await import('../pages/request/request.js')).RequestPage);
const Profile = page(async () => (await import('../pages/profile/profile.js')).Profile);

export function Routes() {
  const { linkTo } = useSession();
  return (
    <Suspense fallback={<Loading />}>
      <Switch>
        {Object.entries({ ...PAGES, ...PAGES_OF_ONE }).map(([name, Content]) => (
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
          <Redirect to={linkTo('overview')} replace />
        </Route>
        <Route>
          <Page title="No such page">
            <Empty icon="search" title="The panel has no page with this address">
              <ButtonLink to={linkTo('overview')}>Overview</ButtonLink>
            </Empty>
          </Page>
        </Route>
      </Switch>
    </Suspense>
  );
}

/** Stands in while the file of a page loads. */
function Loading() {
  const isLate = useLate(true);
  return (
    <Page title="One moment" busy={!isLate}>
      {isLate && <Failure error={FILE_IS_LATE} onRetry={() => location.reload()} />}
    </Page>
  );
}

const FILE_IS_LATE = new ApiError('The panel does not answer.', 'unreachable');
