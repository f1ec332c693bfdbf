import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { DIALECTS } from '#contracts/dialects.js';
import { estimateOutputTokens } from '#inference/estimate-tokens.js';
import type { Hints } from '#inference/request.js';
import { DIALECT_PROBES, type ReasoningSwitch } from '../dialect-probes.js';
import { type Finding, judgeFailure, type ProbeRequest, type ProbeResult } from '../probe-result.js';
import { type Check, no, unclear, yes } from './check.js';
import { COUNTING } from './streaming.js';
import { judgeTaken } from './turns.js';

const COUNT_ON = 'Count from one to two hundred in words, with a space between them. Write nothing else.';
const PONDER = 'Is 391 a prime number? Think first.';
const EFFORT: Hints = { reasoningEffort: 'low' };
const CAP = 16;
const FIELDS = ['max_tokens', 'max_completion_tokens'] as const;

export const parameterChecks: Check[] = [
  {
    id: 'stop',
    title: 'stops at stop sequences',
    async run(prober, { stream }) {
      const sequence = stream && stopIn(stream.text);
      if (sequence === undefined) return 'there is no text to stop in';
      return judgeStop(await prober.send({ turns: COUNTING, stop: [sequence], capabilities: { stop: true } }), sequence);
    },
  },
  taken('temperature', 'temperature', 'takes temperature', { temperature: 0.5 }),
  taken('top-p', 'topP', 'takes top_p', { topP: 0.5 }),
  taken('seed', 'seed', 'takes seed', { hints: { seed: 7 } }),
  taken('penalties', 'penalties', 'takes penalties', { hints: { presencePenalty: 0.5, frequencyPenalty: 0.5 } }),
  {
    id: 'output-cap',
    title: 'keeps the output cap',
    async run(prober) {
      const isRequired = DIALECTS[prober.upstream.kind].requiresOutputCap;
      const result = await prober.send({ turns: COUNT_ON, outputTokensMax: CAP, capabilities: { outputCap: true } });
      return judgeCapTaken(result, isRequired);
    },
  },
  {
    id: 'max-tokens-field',
    title: 'takes both names of the cap',
    async run(prober) {
      if (prober.capabilities.outputCap === false) return 'it takes none';
      const mine = prober.capabilities.maxTokensField;
      const other = FIELDS.find((field) => field !== mine) ?? mine;
      const known = judgeCap(await prober.send({ turns: COUNT_ON, outputTokensMax: CAP }));
      const found = judgeCap(await prober.send({ turns: COUNT_ON, outputTokensMax: CAP, capabilities: { maxTokensField: other } }));
      return judgeFields(mine, known, other, found);
    },
  },
  {
    id: 'reasoning-summary',
    title: 'shows a summary of its reasoning',
    async run(prober, notes) {
      const result = await prober.send({
        turns: PONDER,
        hints: EFFORT,
        outputTokensMax: 1_024,
        capabilities: { reasoningSummary: true },
      });
      notes.reasoningField ??= result.reasoningField;
      return judgeSummary(result);
    },
  },
  {
    id: 'reasoning',
    title: 'shows its reasoning',
    async run(prober, notes) {
      const capabilities = { thinkTags: false, beginsInReasoning: false }; // so that the text is as the model wrote it
      const result = await prober.send({ turns: PONDER, stream: true, outputTokensMax: 1_024, capabilities });
      notes.reasoningField ??= result.reasoningField;
      return judgeReasoning(result, notes.reasoningField);
    },
  },
  {
    id: 'reasoning-effort',
    title: 'takes reasoning_effort',
    async run(prober, { reasoningField }) {
      const result = await prober.send({ turns: 'Say yes.', hints: EFFORT, capabilities: { reasoningEffort: true } });
      return judgeEffort(result, reasoningField !== undefined || writesTags(prober.capabilities));
    },
  },
  {
    id: 'reasoning-switch',
    title: 'switches its reasoning off',
    async run(prober, { reasoningField }) {
      if (reasoningField === undefined && !writesTags(prober.capabilities)) return 'it shows no reasoning';
      const results: [ReasoningSwitch, ProbeResult][] = [];
      for (const reasoningSwitch of DIALECT_PROBES[prober.upstream.kind].reasoningSwitches) {
        const result = await prober.send({ turns: PONDER, hints: { reasoningOff: true }, capabilities: { reasoningSwitch } });
        results.push([reasoningSwitch, result]);
        if (isSwitchedOff(result)) break;
      }
      return judgeSwitch(results);
    },
  },
];

type Flag = 'seed' | 'penalties' | 'temperature' | 'topP';

/** Checks only that a parameter is accepted; its effect does not show in a short reply. */
function taken(id: string, flag: Flag, title: string, probe: Omit<ProbeRequest, 'turns'>): Check {
  return {
    id,
    title,
    run: async (prober) => judgeHint(await prober.send({ turns: 'Say yes.', ...probe, capabilities: { [flag]: true } }), flag),
  };
}

export function writesTags({ thinkTags, beginsInReasoning }: UpstreamCapabilities): boolean {
  return thinkTags || beginsInReasoning === true;
}

export function judgeHint(result: ProbeResult, flag: Flag): Finding {
  return judgeTaken(result, { [flag]: true }, { [flag]: false });
}

/** Many servers accept any unknown field, so acceptance proves nothing unless the model reasons. */
export function judgeEffort(result: ProbeResult, reasons: boolean): Finding {
  if (result.failure !== undefined) return judgeFailure(result.failure, { reasoningEffort: false });
  if (reasons || (result.usage?.reasoningTokens ?? 0) > 0) return yes('taken', { reasoningEffort: true });
  return unclear('taken, but nothing is seen of its reasoning');
}

function isSwitchedOff({ failure, text, reasoning, usage }: ProbeResult): boolean {
  const hasTags = beginsThinking(text) || endsThinking(text);
  return failure === undefined && reasoning === '' && !hasTags && (usage?.reasoningTokens ?? 0) === 0;
}

/** Judges one question, to a model that reasons, with each switch. */
export function judgeSwitch(results: readonly [ReasoningSwitch, ProbeResult][]): Finding {
  const working = results.find(([, result]) => isSwitchedOff(result));
  if (working !== undefined) return yes(`by ${working[0]}`, { reasoningSwitch: working[0] });
  return no('it reasons with each of them', { reasoningSwitch: 'none' });
}

export function judgeSummary({ failure, reasoning }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure, { reasoningSummary: false });
  return reasoning === '' ? unclear('taken, but none was shown') : yes('shown', { reasoningSummary: true });
}

/** Returns a word that first occurs in the middle of the text. */
export function stopIn(text: string): string | undefined {
  const words = text.split(/\s+/).filter((word) => /^[A-Za-z]{3,}$/.test(word));
  const from = Math.floor(words.length / 2);
  return words.slice(from).find((word) => text.indexOf(word) > text.length / 4);
}

/** Judges the same question with a stop sequence in the middle of its answer. */
export function judgeStop({ failure, text, finishReason }: ProbeResult, sequence: string): Finding {
  if (failure !== undefined) return judgeFailure(failure, { stop: false });
  if (text.includes(sequence)) return no('writes on behind it', { stop: false });
  if (finishReason === 'length') return unclear('cut before it came to that');
  return yes(`before the sequence, finish ${finishReason}`, { stop: true });
}

/** A refusal teaches that no cap is accepted, except in a dialect that requires one. */
export function judgeCapTaken(result: ProbeResult, isRequired: boolean): Finding {
  if (isRequired) return judgeCap(result);
  if (result.failure !== undefined) return judgeFailure(result.failure, { outputCap: false });
  return { ...judgeCap(result), learned: { outputCap: true } };
}

/** Judges whether the output ended at the cap. */
export function judgeCap({ failure, text, reasoning, usage, finishReason }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  const written = Math.max(
    estimateOutputTokens(Buffer.byteLength(text + reasoning)),
    usage?.outputSource === 'reported' ? usage.outputTokens : 0,
  );
  if (written > 3 * CAP) return no(`about ${written} tokens where ${CAP} are allowed`);
  return finishReason === 'length' ? yes(`cut at ${CAP} tokens`) : unclear(`it stopped by itself, finish ${finishReason}`);
}

export function judgeFields(mine: (typeof FIELDS)[number], known: Finding, other: (typeof FIELDS)[number], found: Finding): Finding {
  if (known.verdict === 'no' && found.verdict === 'yes') return no(`only ${other}`, { maxTokensField: other });
  if (found.verdict === 'yes') return yes(`${mine} and ${other}`);
  if (found.verdict === 'no') return no(`${other}: ${found.evidence}`);
  return unclear(`${other}: ${found.evidence}`);
}

/** True when the text begins with a reasoning tag. */
export function beginsThinking(text: string): boolean {
  return /^\s*<think>/.test(text);
}

/** True when the text has the end of a reasoning tag and no beginning: the chat template has written that. */
export function endsThinking(text: string): boolean {
  return /^(?:(?!<think(?:ing)?>)[\s\S])*?<\/think(?:ing)?>/.test(text);
}

/** Judges whether reasoning comes in a field of its own or as tags at the beginning of the text. */
export function judgeReasoning({ failure, text }: ProbeResult, field: string | undefined): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (beginsThinking(text)) return yes('as <think> in the text', { thinkTags: true, beginsInReasoning: false });
  if (endsThinking(text)) return yes('in the text, with </think> alone', { beginsInReasoning: true });
  if (field !== undefined) return yes(`in ${field}`, { thinkTags: false, beginsInReasoning: false });
  return no('none was shown');
}
