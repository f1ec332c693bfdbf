import type { SettleReason } from '../../../src/shapes/requests.js';
import { REASONS } from '../data/settle-reasons.js';
import { Badge } from './badge.js';

export function ReasonBadge({ reason }: { reason: SettleReason | null }) {
  if (!reason) return <Badge tone="accent">Running</Badge>;
  const { name, tone } = REASONS[reason];
  return <Badge tone={tone}>{name}</Badge>;
}
