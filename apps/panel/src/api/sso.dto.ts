import { IsIn, IsOptional } from 'class-validator';
import { Text } from '#contracts/billing/fields.js';
import type { SsoStartQuery } from '../shapes/sso.js';

export class SsoStartRequest implements SsoStartQuery {
  @IsOptional() @Text(1_000) returnTo?: string;
  @IsOptional() @IsIn(['true']) confirm?: string;
}
