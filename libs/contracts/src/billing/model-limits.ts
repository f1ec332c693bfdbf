import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { REQUESTS_PER_MINUTE_MAX, TOKENS_MAX } from '../rules/bounds.js';
import { Text } from './fields.js';

/** Limits per minute of the models that a pattern names, taken together. At least one is set. */
export class ModelLimit {
  /** Pattern of ids of models such as `gpt-*`, in which `*` stands for any characters. */
  @Text(256) model!: string;
  @IsOptional() @IsInt() @Min(1) @Max(REQUESTS_PER_MINUTE_MAX) requestsPerMinuteMax?: number;
  @IsOptional() @IsInt() @Min(1) @Max(TOKENS_MAX) tokensPerMinuteMax?: number;
}

/** The most that the operator allows a customer to set. An absent one is not bounded. */
export interface OperatorLimits {
  requestsPerMinuteMax?: number;
  concurrencyMax?: number;
  tokensPerMinuteMax?: number;
  modelLimits?: ModelLimit[];
}
