import type { Turn } from '#inference/turn.js';
import type { ListedModel } from '../list-models.js';
import type { Finding, ProbeResult } from '../probe-result.js';
import type { Prober } from '../prober.js';

/** Results that later checks use. */
export interface Notes {
  /** A long streamed reply to a request without options. */
  stream?: ProbeResult;
  /** Field or event in which any reply carried reasoning. */
  reasoningField?: string;
  /** True when it takes requests, with the key if one is needed. */
  isReached?: boolean;
  seesImages?: boolean;
  refusesTools?: boolean;
  /** True when it called a tool that it was asked to call. */
  callsTools?: boolean;
  /** True when it reported cached tokens. */
  caches?: boolean;
  listed?: ListedModel[];
  /** Context size of the model. */
  context?: { tokens: number; isFromOperator: boolean };
}

export interface Check {
  /** Some checks run in certain dialects alone: `dialect-probes.ts`. */
  id: string;
  title: string;
  /** Returns a finding, or a string that says why the check was skipped. */
  run(prober: Pick<Prober, 'send' | 'capabilities' | 'upstream'>, notes: Notes): Promise<Finding | string>;
}

export const yes = (evidence: string, learned?: Finding['learned']): Finding => ({ verdict: 'yes', evidence, learned });
export const no = (evidence: string, learned?: Finding['learned']): Finding => ({ verdict: 'no', evidence, learned });
export const unclear = (evidence: string): Finding => ({ verdict: 'unclear', evidence });

export function says(role: 'system' | 'user' | 'assistant', text: string): Turn {
  return { role, parts: [{ type: 'text', text }] };
}

export function inMs(milliseconds: number): string {
  return milliseconds >= 10_000 ? `${Math.round(milliseconds / 1_000)} s` : `${Math.round(milliseconds)} ms`;
}

/** `1 piece`, `2 pieces`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`;
}
