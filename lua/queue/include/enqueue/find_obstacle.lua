-- find_obstacle(ctx, own, stamp, by_index): the first task because of which a new one is not created: a task of `after`, or
-- a parent that it needs, that does not exist; or the parent that it is to come after, and that waits for it as one of
-- its children, for it has too few others so far. nil if there is none. by_index: the children that this call has added.
local function find_obstacle(ctx, own, stamp, by_index)
  local parent, comes_after, others = own.parent, false, false
  local missing = own.after and find_missing(ctx, own.after, stamp) or own.needs_parent and find_missing(ctx, { parent }, stamp)
  if missing or not (parent and own.after) then return missing or nil end
  for _, id in ipairs(own.after) do
    comes_after, others = comes_after or id == parent, others or id ~= parent
  end
  if not comes_after or own.after_any and others or not gathers(ctx, parent) then return end
  local row = redis.call('HMGET', task .. parent, 'gather', 'after_any', 'awaits')
  local left, _, there = gather_left(parent, { gather = tonumber(row[1]), awaits = row[3] }, 0)
  there = there + #(by_index[children .. parent] or {}) / 2
  if there < (row[2] == '1' and 1 or left) then return parent end
end
