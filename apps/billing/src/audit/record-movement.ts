/**
 * Ends a statement of a top-up, refund, adjustment or credit note: writes the audit row of the movement, and selects it as `audit`. `changed` is the
 * movement, with the account's `topup` after it. The main query of a statement reads the account as it was before the statement.
 */
export function recordMovement(action: string, callerParameter: `$${number}`): string {
  return `SELECT billing.record_audit(${callerParameter}::jsonb, '${action}', c.account_id, 'movement/' || c.id, c.reason,
    jsonb_build_object('topupBalancePicoUsd', b.topup::text),
    jsonb_build_object('topupBalancePicoUsd', c.topup::text, 'amountPicoUsd', c.amount::text,
      'reference', substring(c.idempotency_key FROM position(':' IN c.idempotency_key) + 1))) AS audit
  FROM changed c JOIN billing.account b ON b.id = c.account_id`;
}
