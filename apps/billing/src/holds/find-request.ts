import type { BilledRequest } from '#contracts/billing/requests.js';
import { parseRequestName, REQUEST_ID_FORMS } from '#contracts/rules/request-id.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { noSuchRequest, readRequest } from './show-request.js';

/** Settlements whose traces are searched: some 50 ms. Traces have no index, which each request with one would pay for. */
const TRACES_MAX = 50_000;

/**
 * Returns everything the ledger knows of the request that an id names: its own, that of its reply, its hold or its trace. A client's trace
 * names its newest request, among the last `TRACES_MAX`.
 * @throws {ServiceError} `not_found`, which names the forms for an id of none of them.
 */
export async function findRequest(prisma: PrismaClient, text: string): Promise<BilledRequest> {
  const name = parseRequestName(text);
  const found = await readRequest(prisma, name?.requestId ?? text);
  if (found) return found;
  if (!name) throw new ServiceError('not_found', `No request has this id. ${REQUEST_ID_FORMS}`, 'requestId');
  const requestId = name.uuid === null ? undefined : await findByOther(prisma, name.uuid);
  const other = requestId === undefined ? undefined : await readRequest(prisma, requestId);
  if (!other) throw noSuchRequest();
  return other;
}

/** Returns the id of the request with this hold or trace. Each part is read only when those before it found nothing. */
async function findByOther(prisma: PrismaClient, uuid: string): Promise<string | undefined> {
  const [row] = await prisma.$queryRaw<{ requestId: string }[]>`
    SELECT request_id AS "requestId" FROM (
      SELECT request_id FROM billing.hold WHERE id = ${uuid}::uuid
      UNION ALL SELECT request_id FROM billing.settlement WHERE hold_id = ${uuid}::uuid
      UNION ALL (SELECT request_id FROM billing.hold WHERE trace_id = ${uuid}::uuid ORDER BY created_at DESC LIMIT 1)
      UNION ALL (
        SELECT request_id FROM (SELECT hold_id, request_id, trace_id FROM billing.settlement ORDER BY hold_id DESC LIMIT ${TRACES_MAX}) newest
        WHERE trace_id = ${uuid}::uuid ORDER BY hold_id DESC LIMIT 1
      )
    ) found WHERE request_id IS NOT NULL LIMIT 1`;
  return row?.requestId;
}
