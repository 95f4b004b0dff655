-- check_parts(ctx, i, own): check an item: return an error if its fields contradict each other, or if the call has more
-- than 8,000 tags, limits and `after` ids; otherwise nil.
local function check_parts(ctx, i, own)
  local moves = own.fallback or own.unclaimed == 'fail'
  if not moves ~= not own.fallback_after_ms then
    return refuse('item[' .. i .. '].fallback_after_ms', own.fallback_after_ms, 'given with fallback or unclaimed=fail, and only so')
  end
  if own.ordering_key and (own.after or own.gather) then
    return refuse('item[' .. i .. '].ordering_key', own.ordering_key, 'given without after and gather')
  end
  if own.tags or own.after or own.limits then
    ctx.parts = (ctx.parts or 0) + (own.tags and #own.tags or 0) + (own.after and #own.after or 0) + (own.limits and #own.limits or 0)
    if ctx.parts > 8000 then return refuse('the tags, limits and after of a call', ctx.parts, 'at most 8000 in all') end
  end
end
