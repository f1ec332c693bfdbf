import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { PanelRequest } from '../requests/panel-request.js';
import { parseInput } from './input.js';

/**
 * Gives a method of a controller its message, checked by the class: ids from the path, the other fields from the query of a `GET`, else
 * from the body.
 *
 * ```ts
 * @Handles('createProject')
 * create(@Req() request: PanelRequest, @Input(ProjectCreateRequest) message: ProjectCreateRequest): Promise<Project> { … }
 * ```
 */
export function Input(type: new () => object): ParameterDecorator {
  return input(type);
}

const input = createParamDecorator((type: new () => object, context: ExecutionContext) =>
  parseInput(type, context.switchToHttp().getRequest<PanelRequest>()),
);
