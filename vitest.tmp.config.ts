export default { test: { include: ['test/mcp/**/*.test.ts'] } };
