import type { Adapter } from './adapter.ts';
import { bifrost } from './bifrost.ts';
import { litellm } from './litellm.ts';
import { portkey } from './portkey.ts';
import { tollgateAll, tollgateSplit } from './tollgate.ts';
import { tollgateAttached } from './tollgate-attached.ts';

export const ADAPTERS: readonly Adapter[] = [tollgateAll, tollgateSplit, tollgateAttached, portkey, litellm, bifrost];
