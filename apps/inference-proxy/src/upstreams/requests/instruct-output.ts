import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { outputInstruction } from '#inference/added-texts.js';
import type { InferenceRequest } from '#inference/request.js';
import type { TextPart, Turn } from '#inference/turn.js';
import { countLeadingSystemTurns } from './leading-system-turns.js';

type Instructed = Pick<InferenceRequest, 'turns' | 'output'>;

/**
 * Returns the turns, with an instruction where the upstream is asked for any JSON object: the schema that it does not take, or the word
 * JSON, without which such servers refuse the request. The instruction ends the leading system turns. Only the beginning of a conversation
 * decides about it, so that it is the same in each turn and a cached prompt stays valid.
 */
export function instructOutput({ turns, output }: Instructed, { jsonSchema }: Pick<UpstreamCapabilities, 'jsonSchema'>): readonly Turn[] {
  if (output.kind === 'text' || (output.kind === 'json-schema' && jsonSchema)) return turns;
  const leading = countLeadingSystemTurns(turns);
  if (output.kind === 'json-object' && turns.slice(0, leading + 1).some(saysJson)) return turns;
  const instruction: TextPart = { type: 'text', text: outputInstruction(output) };
  const last = turns[leading - 1];
  if (last?.role !== 'system') return [{ role: 'system', parts: [instruction] }, ...turns];
  return [...turns.slice(0, leading - 1), { ...last, parts: [...last.parts, instruction] }, ...turns.slice(leading)];
}

function saysJson(turn: Turn): boolean {
  return (turn.role === 'system' || turn.role === 'user') && turn.parts.some((part) => part.type === 'text' && /json/i.test(part.text));
}
