import { Module } from '@nestjs/common';
import { KeyLookups } from '../keys/key-lookups.js';
import { connectLane } from './connections.js';
import { type Feature, provide, type Shared } from './feature.module.js';
import { KeysController } from './keys.controller.js';

/** Digests in one query, which takes about a millisecond: a lookup waits no longer beside a flood of guesses. */
const LOOKUP_BATCH_MAX = 256;

@Module({ controllers: [KeysController] })
class KeysModule {}

export function keysModule({ config, logger }: Shared): Feature {
  const { queueMax, applyDeadlineMs: deadlineMs } = config;
  const lanes = { connect: () => connectLane(config), batchMax: LOOKUP_BATCH_MAX, queueMax, deadlineMs, logger };
  const lookups = new KeyLookups(config.keyPepper, lanes);
  return { module: { module: KeysModule, providers: [provide(KeyLookups, lookups)] }, connections: [lookups] };
}
