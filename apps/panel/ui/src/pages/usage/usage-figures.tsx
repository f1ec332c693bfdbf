import type { UsageQueryReply } from '../../../../src/shapes/billing.js';
import { useApi, withQuery } from '../../data/api.js';
import { useNow } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { describeChange } from '../../data/usage-rows.js';
import { plural, shortCount } from '../../format/numbers.js';
import { Money } from '../../parts/money.js';
import { Figure, Figures } from '../../parts/page.js';
import { utcMonth } from '../../parts/time.js';
import { type Forecast, forecastFrom, forecastMonth } from './forecast.js';
import type { GroupSum } from './sums.js';

const FORECAST_MS = 5 * 60_000;

interface UsageFiguresProps {
  total: GroupSum | undefined;
  /** Sum of the time before. Null: it cannot be had. */
  before: GroupSum | null | undefined;
  /** Name of the time before. */
  beforeName: string;
  /** Filters of the query of usage. */
  filters: Record<string, string | undefined>;
}

/** Cost, requests and tokens beside those of the time before, and the forecast of the month. */
export function UsageFigures({ total, before, beforeName, filters }: UsageFiguresProps) {
  const forecast = useForecast(filters);
  const compare = (now: bigint | number | undefined, then: bigint | number | undefined) => {
    if (before === null) return `not known of ${beforeName}`;
    if (now === undefined || then === undefined) return null;
    const change = describeChange(BigInt(now), BigInt(then));
    return change === null ? `none in ${beforeName}` : `${change} on ${beforeName}`;
  };
  return (
    <Figures>
      <Figure label="Cost" note={compare(total?.cost, before?.cost)}>
        {total && <Money pico={total.cost} />}
      </Figure>
      <Figure label="Requests" note={compare(total?.requests, before?.requests)}>
        {total && shortCount(total.requests)}
      </Figure>
      <Figure label="Tokens" note={compare(total && addTokens(total), before ? addTokens(before) : undefined)}>
        {total && shortCount(addTokens(total))}
      </Figure>
      <Figure
        label={`Forecast of ${utcMonth(Date.now())}`}
        note={forecast === undefined ? null : forecast ? <Rule forecast={forecast} /> : NONE}
      >
        {forecast === undefined ? undefined : forecast ? <Money pico={forecast.total} /> : '–'}
      </Figure>
    </Figures>
  );
}

const NONE = 'known after an hour of requests';

/** What the forecast is made of. */
function Rule({ forecast: { spent, perDay, days } }: { forecast: Forecast }) {
  return (
    <>
      <Money pico={spent} plain /> so far, then <Money pico={perDay} plain /> a day,{' '}
      {days > 0 ? `as in the last ${plural(days, 'full day')}` : 'as today'}
    </>
  );
}

/** The forecast of this month, in UTC. Undefined while it loads, null without one. */
function useForecast(filters: Record<string, string | undefined>): Forecast | null | undefined {
  const { account } = useSession();
  const now = useNow(FORECAST_MS);
  const question = { ...filters, from: new Date(forecastFrom(now)).toISOString(), step: 'day', limit: 100 };
  const { data } = useApi<UsageQueryReply>(withQuery(`/accounts/${account}/usage`, question), { refetchMs: FORECAST_MS });
  return data && forecastMonth(data.rows, Math.max(now, Date.parse(data.to)));
}

function addTokens({ promptTokens, outputTokens }: Pick<GroupSum, 'promptTokens' | 'outputTokens'>): number {
  return promptTokens + outputTokens;
}
