export function unpackDebianPackages(options: { names: string[]; folder: string; dependencies?: boolean }): Promise<void>;
