import type { StackFacts } from './stack.mjs';

/** Requests by outcome. */
export interface DemoTally {
  answered: number;
  /** 4xx. */
  refused: number;
  /** 5xx, or a stream without its end. */
  failed: number;
  /** The client has disconnected. */
  left: number;
}

export function runDemoTraffic(options: {
  /** Folder that keeps the keys for the next run. */
  dataDir: string;
  stack: Pick<StackFacts, 'gatewayUrl' | 'accountId' | 'natsUrl' | 'natsPasswords'>;
  say: (subject: string, text: string) => void;
  /** Ends the traffic at once. */
  signal: AbortSignal;
  /** Default 75. */
  seconds?: number;
}): Promise<DemoTally | undefined>;
