-- recheck_request(ctx, id): move a pending request to whom it belongs now.
local function recheck_request(ctx, id)
  local name, slot = string.match(id, '^(.+)/(%d+)$')
  local own = load_change(ctx, name)
  if not own then return end
  keep_moves(ctx, own, resolve_requests(ctx, own), (find_slot(own, tonumber(slot))))
  save_change(ctx, own)
end
