import type { Upstream } from '#contracts/catalog.js';
import type { Turn } from '#inference/turn.js';
import type { ListedModel } from '../list-models.js';
import type { Exchange, Finding } from '../probe-result.js';
import type { Prober } from '../prober.js';

/** What checks leave for those that come later. */
export interface Notes {
  /** A stream of some length, without anything asked for besides. */
  stream?: Exchange;
  /** Where reasoning has been seen, in any reply. */
  reasoningField?: string;
  seesImages?: boolean;
  refusesTools?: boolean;
  listed?: ListedModel[];
  /** The model's context, as the operator or the upstream says. */
  context?: { tokens: number; isTheOperators: boolean };
}

export interface Check {
  id: string;
  title: string;
  /** Dialects in which there is something to ask; absent: all. */
  kinds?: readonly Upstream['kind'][];
  /** A text: not asked, and why. */
  run(prober: Pick<Prober, 'send' | 'capabilities' | 'upstream'>, notes: Notes): Promise<Finding | string>;
}

export const WITH_ROLES: readonly Upstream['kind'][] = ['openai-chat', 'openai-responses'];
export const CHAT_ONLY: readonly Upstream['kind'][] = ['openai-chat'];

export const yes = (evidence: string, learned?: Finding['learned']): Finding => ({ verdict: 'yes', evidence, ...(learned && { learned }) });
export const no = (evidence: string, learned?: Finding['learned']): Finding => ({ verdict: 'no', evidence, ...(learned && { learned }) });
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
