import { modelMatcher } from '#contracts/rules/model-pattern.js';
import type { ApiKey, KeyCreateBody, KeyUpdateBody, ModelLimit } from '../../../../src/shapes/billing.js';
import { count, plural, shortCount } from '../../format/numbers.js';

/** Lists and limits of a key. */
export type KeyLimits = Pick<
  ApiKey,
  'models' | 'networks' | 'requestsPerMinuteMax' | 'tokensPerMinuteMax' | 'concurrencyMax' | 'modelLimits'
>;

/** The same, as the fields of a form have them. */
export interface LimitsDraft {
  /** One a line, or with commas between. */
  models: string;
  networks: string;
  requests: string;
  tokens: string;
  atOnce: string;
  byModel: ModelLimitDraft[];
}

export interface ModelLimitDraft {
  /** Names the row while it is edited. */
  id: string;
  model: string;
  requests: string;
  tokens: string;
}

export function draftLimits(limits: Partial<KeyLimits> = {}): LimitsDraft {
  const { models = [], networks = [], requestsPerMinuteMax, tokensPerMinuteMax, concurrencyMax, modelLimits = [] } = limits;
  return {
    models: models.join('\n'),
    networks: networks.join('\n'),
    requests: `${requestsPerMinuteMax ?? ''}`,
    tokens: `${tokensPerMinuteMax ?? ''}`,
    atOnce: `${concurrencyMax ?? ''}`,
    byModel: modelLimits.map((limit, at) => ({
      id: `${at}`,
      model: limit.model,
      requests: `${limit.requestsPerMinuteMax ?? ''}`,
      tokens: `${limit.tokensPerMinuteMax ?? ''}`,
    })),
  };
}

export function readList(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((part) => part !== ''))];
}

/** Ids of models that a hint names. */
const EXAMPLES_MAX = 3;

/** Says how to write a list of models, with some of those that there are. */
export function describeModelList(ids: readonly string[]): string {
  const examples = ids.length === 0 ? '' : ` such as ${ids.slice(0, EXAMPLES_MAX).join(', ')}`;
  return `Empty: all models. Otherwise ids${examples}, or patterns such as gpt-*, one a line.`;
}

/** Returns the models that patterns allow, and the patterns that allow none of them, such as a misspelled id. */
export function matchModels(patterns: readonly string[], ids: readonly string[]): { allowed: string[]; unmatched: string[] } {
  const matchers = patterns.map((pattern) => ({ pattern, matches: modelMatcher(pattern) }));
  return {
    allowed: ids.filter((id) => matchers.some(({ matches }) => matches(id))),
    unmatched: matchers.filter(({ matches }) => !ids.some(matches)).map(({ pattern }) => pattern),
  };
}

/** Reads the fields. Null is no limit; empty lists allow all. */
export function readLimits({ models, networks, requests, tokens, atOnce, byModel }: LimitsDraft): Required<KeyLimits> {
  return {
    models: readList(models),
    networks: readList(networks),
    requestsPerMinuteMax: readNumber(requests),
    tokensPerMinuteMax: readNumber(tokens),
    concurrencyMax: readNumber(atOnce),
    modelLimits: byModel.map(({ model, ...limit }): ModelLimit => {
      const [requestsPerMinuteMax, tokensPerMinuteMax] = [readNumber(limit.requests), readNumber(limit.tokens)];
      return {
        model: model.trim(),
        ...(requestsPerMinuteMax !== null && { requestsPerMinuteMax }),
        ...(tokensPerMinuteMax !== null && { tokensPerMinuteMax }),
      };
    }),
  };
}

/** Returns what a form changes of a key: a field that stays is not sent, so that no other person's change is undone. */
export function changedLimits(before: Partial<KeyLimits>, draft: LimitsDraft): Partial<KeyUpdateBody> {
  const [was, is] = [readLimits(draftLimits(before)), readLimits(draft)];
  const names = Object.keys(is) as (keyof KeyLimits)[];
  return Object.fromEntries(names.filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name])).map((name) => [name, is[name]]));
}

/** Returns the limits of a new key: none is null, because all that is set is a change. */
export function chosenLimits(draft: LimitsDraft): Pick<KeyCreateBody, keyof KeyLimits> {
  return changedLimits({}, draft) as Pick<KeyCreateBody, keyof KeyLimits>;
}

/** Texts of the limits, for badges: the short one, and the whole one. Empty without limits. */
export function limitWords(limits: Partial<KeyLimits>): { text: string; whole: string }[] {
  const { models = [], networks = [], requestsPerMinuteMax, tokensPerMinuteMax, concurrencyMax, modelLimits = [] } = limits;
  const list = (values: string[], noun: string, title: string) =>
    values.length === 0
      ? []
      : [{ text: values.length === 1 ? (values[0] ?? '') : plural(values.length, noun), whole: `${title}: ${values.join(', ')}` }];
  const limit = (most: number | null | undefined, short: string, whole: string) =>
    most == null ? [] : [{ text: `${shortCount(most)} ${short}`, whole: `${count(most)} ${whole}` }];
  return [
    ...list(models, 'model', 'Only these models'),
    ...list(networks, 'network', 'Only from these networks'),
    ...limit(requestsPerMinuteMax, 'req/min', 'requests a minute'),
    ...limit(tokensPerMinuteMax, 'tok/min', 'tokens a minute'),
    ...limit(concurrencyMax, 'at once', 'requests at once'),
    ...(modelLimits.length === 0 ? [] : [{ text: 'by model', whole: modelLimits.map(describeModelLimit).join('; ') }]),
  ];
}

function describeModelLimit({ model, requestsPerMinuteMax, tokensPerMinuteMax }: ModelLimit): string {
  const parts = [
    ...(requestsPerMinuteMax === undefined ? [] : [`${count(requestsPerMinuteMax)} requests`]),
    ...(tokensPerMinuteMax === undefined ? [] : [`${count(tokensPerMinuteMax)} tokens`]),
  ];
  return `${model}: ${parts.join(' and ')} a minute`;
}

function readNumber(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}
