import { IsBoolean, IsIn, IsInt, Matches, Max, Min } from 'class-validator';
import { POLICY_DEADLINE_MS_MAX, POLICY_FAIL_MODES, POLICY_NAME } from '../rules/bounds.js';

/** The policy that the gateway asks before a request of a project makes its hold. */
export class ProjectPolicy {
  /** Asked on the subject `policy.v1.decide.<name>`. */
  @Matches(POLICY_NAME, { message: '$property must have 1 to 63 lower case letters, digits and hyphens' }) name!: string;
  /** Milliseconds that a request waits for the verdict. */
  @IsInt() @Min(1) @Max(POLICY_DEADLINE_MS_MAX) deadlineMs!: number;
  /** A policy that fails lets the request run as it is (`open`), or refuses it (`closed`). */
  @IsIn(POLICY_FAIL_MODES) fail!: (typeof POLICY_FAIL_MODES)[number];
  /** True: the policy gets the texts of the prompt, and may redact them. */
  @IsBoolean() sendText!: boolean;
}
