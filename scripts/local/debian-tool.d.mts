export interface DebianTool {
  path: string;
  /** Variables that the program needs. */
  env: Record<string, string>;
}

export function findDebianTool(program: string, packageName?: string): Promise<DebianTool | undefined>;
