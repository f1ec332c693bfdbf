import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { NumberBetween, PositiveInteger, RequiredText } from '../body-fields/validate-fields.js';

/** The flat fields of a Responses request. Input items, tools and other fields of several shapes are parsed by hand (decision 0003). */
export class ResponsesFields {
  @RequiredText() model!: string;
  @IsOptional() @IsString() instructions?: string;
  @IsOptional() @IsBoolean() stream?: boolean;
  @IsOptional() @IsBoolean() parallel_tool_calls?: boolean;
  @PositiveInteger() max_output_tokens?: number;
  @NumberBetween(0, 2) temperature?: number;
  @NumberBetween(0, 1) top_p?: number;
}
