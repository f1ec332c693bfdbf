import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';
import { sourceFile, symbolOf } from '../asyncapi/contracts.ts';
import { type Schema, SchemaWriter } from '../asyncapi/json-schema.ts';

const ERRORS = 'apps/panel/src/errors/panel-error.ts';
const ERROR_BODY = 'apps/panel/src/shapes/error.ts';
const CONTROLLERS = 'apps/panel/src/api';

/** A method with `@Handles`, with the JSON schemas of what it takes and returns. */
export interface Handler {
  route: string;
  tag: string;
  comment: string;
  inputs: Partial<Record<'Input' | 'Body' | 'Query', Schema>>;
  reply: Schema | undefined;
}

/** The panel's API. */
export interface PanelApi {
  handlers: Handler[];
  /** By code. */
  errors: Record<string, { status: number }>;
  schemas: Record<string, Schema>;
}

/** Reads the panel's API from the sources. */
export function readPanel(): PanelApi {
  const { config } = ts.readConfigFile('tsconfig.json', (file) => readFileSync(file, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, process.cwd());
  const controllers = ts.sys.readDirectory(CONTROLLERS, ['.controller.ts']);
  const program = ts.createProgram([ERRORS, ERROR_BODY, ...controllers], { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const writer = new SchemaWriter(checker);
  const errors = readLiteral(constantIn(sourceFile(program, ERRORS), 'PANEL_ERROR_CODES', checker), checker) as PanelApi['errors'];
  const handlers = controllers.flatMap((path) => {
    const classes = sourceFile(program, path).statements.filter(ts.isClassDeclaration);
    return classes.flatMap((controller) =>
      controller.members
        .filter(ts.isMethodDeclaration)
        .flatMap((method) => findHandler(method, basename(path, '.controller.ts'), checker, writer)),
    );
  });
  writer.renderSchema(exportedType(sourceFile(program, ERROR_BODY), 'PanelErrorBody', checker));
  return { errors, handlers, schemas: writer.schemas() };
}

function findHandler(method: ts.MethodDeclaration, tag: string, checker: ts.TypeChecker, writer: SchemaWriter): Handler[] {
  const route = findDecorator(method, 'Handles')?.arguments[0];
  const signature = checker.getSignatureFromDeclaration(method);
  if (!route || !ts.isStringLiteral(route) || !signature) return [];
  const inputs: Handler['inputs'] = {};
  for (const name of ['Input', 'Body', 'Query'] as const) {
    const parameter = method.parameters.find((one) => findDecorator(one, name));
    if (parameter) inputs[name] = writer.renderSchema(checker.getTypeAtLocation(parameter));
  }
  const returned = checker.getReturnTypeOfSignature(signature);
  const reply = checker.getAwaitedType(returned) ?? returned;
  const comment = ts.displayPartsToString(symbolOf(method.name, checker).getDocumentationComment(checker));
  return [{ route: route.text, tag, comment, inputs, reply: reply.flags & ts.TypeFlags.Void ? undefined : writer.renderSchema(reply) }];
}

function findDecorator(node: ts.HasDecorators, name: string): ts.CallExpression | undefined {
  const calls = (ts.getDecorators(node) ?? []).map(({ expression }) => expression).filter(ts.isCallExpression);
  return calls.find(({ expression }) => expression.getText() === name);
}

function constantIn(file: ts.SourceFile, name: string, checker: ts.TypeChecker): ts.Type {
  const declarations = file.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => [...declarationList.declarations]);
  return declaredType(declarations, name, checker);
}

function exportedType(file: ts.SourceFile, name: string, checker: ts.TypeChecker): ts.Type {
  return declaredType(file.statements.filter(ts.isInterfaceDeclaration), name, checker);
}

function declaredType(declarations: ts.NamedDeclaration[], name: string, checker: ts.TypeChecker): ts.Type {
  const found = declarations.find((declaration) => declaration.name?.getText() === name);
  if (!found) throw new Error(`there is no ${name}`);
  return checker.getTypeAtLocation(found);
}

/** Returns the value of a constant of literals, from its type. */
function readLiteral(type: ts.Type, checker: ts.TypeChecker): unknown {
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
  if (type.flags & ts.TypeFlags.BooleanLiteral) return checker.typeToString(type) === 'true';
  return Object.fromEntries(
    type.getProperties().map((property) => [property.name, readLiteral(checker.getTypeOfSymbol(property), checker)]),
  );
}
