import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { ToolChoice } from '#inference/tool.js';

/** True for a choice that demands a call. The proxy sends it to upstreams that obey it, and to no others. */
export function forcesCall(choice: ToolChoice | undefined): boolean {
  return choice?.kind === 'required' || choice?.kind === 'tool';
}

/** True when the tools may not be called and the upstream does not obey `none`: only without them it does not call any. */
export function withholdsTools(choice: ToolChoice | undefined, { toolChoice }: Pick<UpstreamCapabilities, 'toolChoice'>): boolean {
  return choice?.kind === 'none' && toolChoice === 'auto';
}
