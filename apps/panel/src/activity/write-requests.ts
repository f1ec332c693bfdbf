import type { EndedRequest } from '#contracts/gateway.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { findBucket } from './histogram.js';

/** Stands for the account, project and key of a request without a valid key. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** A request, and whether it has a row of its own beside its part of the traffic. */
export interface CountedRequest {
  request: EndedRequest;
  hasRow: boolean;
}

/**
 * Writes requests and adds them to the traffic of their minute and hour, in one statement. A request whose row is there already is not
 * counted again.
 */
export async function writeRequests(prisma: PrismaClient, requests: readonly CountedRequest[]): Promise<void> {
  await prisma.$executeRaw`
    WITH incoming AS (
      SELECT DISTINCT ON (request_id) * FROM jsonb_to_recordset(${JSON.stringify(requests.map(toRow))}::jsonb) AS ended(
        request_id text, has_row boolean, received_at timestamptz, ended_at timestamptz, account_id uuid, project_id uuid, key_id uuid, model text,
        outcome text, first_content text, duration text, details jsonb)
    ), added AS (
      INSERT INTO activity.request (received_at, request_id, account_id, details)
      SELECT received_at, request_id, account_id, details FROM incoming WHERE has_row
      ON CONFLICT DO NOTHING RETURNING request_id
    ), facts AS (
      SELECT account_id, ended_at, project_id, key_id, model, fact.property, fact.value
      FROM incoming, LATERAL (VALUES ('outcome', outcome), ('first-content', first_content), ('duration', duration)) fact (property, value)
      WHERE fact.value IS NOT NULL AND (NOT has_row OR request_id IN (SELECT request_id FROM added))
    ), minutes AS (
      INSERT INTO activity.traffic_minute AS total (account_id, at, project_id, key_id, model, property, value, requests)
      SELECT account_id, date_trunc('minute', ended_at, 'UTC'), project_id, key_id, model, property, value, count(*) FROM facts
      GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
      ON CONFLICT (account_id, at, project_id, key_id, model, property, value) DO UPDATE SET requests = total.requests + excluded.requests
    )
    INSERT INTO activity.traffic_hour AS total (account_id, at, project_id, key_id, model, property, value, requests)
    SELECT account_id, date_trunc('hour', ended_at, 'UTC'), project_id, key_id, model, property, value, count(*) FROM facts
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (account_id, at, project_id, key_id, model, property, value) DO UPDATE SET requests = total.requests + excluded.requests`;
}

function toRow({ request, hasRow }: CountedRequest): Record<string, unknown> {
  const { requestId, receivedAt, accountId, projectId, keyId, model, stream, outcome, firstContentMs, endedMs } = request;
  const isCompleted = outcome === 'completed';
  return {
    request_id: requestId,
    has_row: hasRow,
    received_at: receivedAt,
    ended_at: new Date(Date.parse(receivedAt) + endedMs).toISOString(),
    account_id: accountId ?? NO_ID,
    project_id: projectId ?? NO_ID,
    key_id: keyId ?? NO_ID,
    model: model ?? '',
    outcome: describeOutcome(request),
    // The first content of a plain reply is its end.
    first_content: isCompleted && stream && firstContentMs !== undefined ? String(findBucket(firstContentMs)) : null,
    // A refusal takes no time: it would make the model look fast.
    duration: isCompleted ? String(findBucket(endedMs)) : null,
    details: hasRow ? request : null,
  };
}

/** A client that leaves gets no error, so this code is not among those of the gateway. */
const CLIENT_DISCONNECTED = 'client_disconnected';

function describeOutcome({ status, code, outcome }: EndedRequest): string {
  const reason = code ?? (outcome === 'client-disconnected' ? CLIENT_DISCONNECTED : undefined);
  return reason === undefined ? String(status) : `${status} ${reason}`;
}
