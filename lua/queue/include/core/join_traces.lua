-- join_traces(traces, count): the trace of an event of count tasks: their common trace, or one for each, separated by
-- spaces, with `-` for none.
local function join_traces(traces, count)
  local same = true
  for i = 1, count do
    traces[i] = traces[i] or '-'
    same = same and traces[i] == traces[1]
  end
  return same and traces[1] or table.concat(traces, ' ')
end
