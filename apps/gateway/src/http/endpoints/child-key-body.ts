import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { TagValues } from '#contracts/billing/attribution.js';
import { ModelPatterns, Networks } from '#contracts/billing/fields.js';
import { CHILD_SECONDS_MAX, type WantedChild } from '#contracts/child-keys/narrow-child.js';
import { parseUsd, USD } from '#money/pico-usd.js';
import { readBody } from '../../protocols/body-fields/body-fields.js';
import { validateFields } from '../../protocols/body-fields/validate-fields.js';

/** Body of a request for a child key. What it does not name is that of the key that makes it. */
class ChildKeyBody {
  @IsOptional() @Matches(USD, { message: 'must be dollars in a string such as "0.50"' }) budget_usd: string | undefined;
  @IsOptional() @IsInt() @Min(1) @Max(CHILD_SECONDS_MAX) expires_in: number | undefined;
  @IsOptional() @ModelPatterns() models: string[] | undefined;
  @IsOptional() @Networks() networks: string[] | undefined;
  @IsOptional() @TagValues() tags: Record<string, string> | undefined;
}

/** @throws {GatewayError} `invalid_request` for the first field that is not valid. */
export function parseChildKeyBody(body: unknown): WantedChild {
  const { budget_usd, expires_in: seconds, ...lists } = validateFields(ChildKeyBody, readBody(body));
  return { ...lists, seconds, limitPicoUsd: budget_usd === undefined ? undefined : String(parseUsd(budget_usd)) };
}
