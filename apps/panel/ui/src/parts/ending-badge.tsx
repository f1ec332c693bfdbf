import type { SettleReason } from '../../../src/shapes/requests.js';
import { ENDINGS } from '../data/endings.js';
import { Badge } from './badge.js';

export function EndingBadge({ ending }: { ending: SettleReason | null }) {
  if (!ending) return <Badge tone="accent">Running</Badge>;
  const { name, tone } = ENDINGS[ending];
  return <Badge tone={tone}>{name}</Badge>;
}
