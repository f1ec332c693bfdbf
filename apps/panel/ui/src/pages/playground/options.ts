import type { CatalogModel } from '../../../../src/shapes/catalog.js';
import { count } from '../../format/numbers.js';

/** The fields that a person fills in beside the conversation. */
export interface Options {
  system: string;
  maxTokens: string;
  temperature: string;
}

export function startOptions(): Options {
  return { system: '', maxTokens: '1024', temperature: '' };
}

export interface ReadOptions {
  maxTokens?: number;
  temperature?: number;
  faults: { maxTokens?: string; temperature?: string };
}

/** Reads the numbers. A fault says what is allowed. */
export function readOptions({ maxTokens, temperature }: Options, { maxOutputTokens }: CatalogModel): ReadOptions {
  const tokens = Number(maxTokens);
  const degrees = Number(temperature);
  const areTokensFine = Number.isInteger(tokens) && tokens >= 1 && tokens <= maxOutputTokens;
  const isTemperatureFine = degrees >= 0 && degrees <= 2;
  return {
    ...(areTokensFine && { maxTokens: tokens }),
    ...(temperature.trim() !== '' && isTemperatureFine && { temperature: degrees }),
    faults: {
      ...(!areTokensFine && { maxTokens: `From 1 to ${count(maxOutputTokens)}.` }),
      ...(!isTemperatureFine && { temperature: 'From 0 to 2.' }),
    },
  };
}
