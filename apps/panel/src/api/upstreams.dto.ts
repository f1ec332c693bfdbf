import { IsOptional } from 'class-validator';
import { Text } from '#contracts/billing/fields.js';
import type { UpstreamTestBody } from '../shapes/upstreams.js';

/** The inference-proxy knows which ids and models exist. */
export class UpstreamTestRequest implements UpstreamTestBody {
  @Text(64) upstreamId!: string;
  /** Model name at the upstream. Default: the models of its routes, the first in full. */
  @IsOptional() @Text(256) model?: string;
}
