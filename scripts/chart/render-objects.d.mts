export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: objects have the fields of their kind.
  [field: string]: any;
}

/** Folders of k8s/components. */
export const COMPONENTS: string[];

/** False on a machine without kubectl. */
export const hasKubectl: boolean;

/** Returns the objects of k8s/base with these components. */
export function renderObjects(components: string[]): KubernetesObject[];

/** Returns the objects of a folder with a kustomization. */
export function renderFolder(folder: string): KubernetesObject[];
