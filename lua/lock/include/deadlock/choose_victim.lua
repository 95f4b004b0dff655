-- choose_victim(ctx, request, nodes): which wait of a cycle ends, by the policy; nil: that of the request.
local function choose_victim(ctx, request, nodes)
  if ctx.policy == 'requester' then return nil end
  local victim, rank, born = nil, tonumber(request.priority), tonumber(request.born_ms)
  for _, node in ipairs(nodes) do
    local its_priority, its_born_ms = string.match(record_of(ctx, node.rid), '^%S+ %S+ %S+ (%d) %d+ (%d+) ')
    local its_rank, its_born = tonumber(its_priority), tonumber(its_born_ms)
    if ctx.policy == 'youngest' then its_rank = rank end
    if its_rank > rank or (its_rank == rank and its_born > born) then victim, rank, born = node, its_rank, its_born end
  end
  return victim
end
