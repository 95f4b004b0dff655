-- check_parts(i, own): the error of an envelope with parts that do not go together; nil if they do.
local function check_parts(i, own)
  local moves = own.fallback or own.unclaimed == 'fail'
  if not moves ~= not own.fallback_after_ms then
    return refuse('item[' .. i .. '].fallback_after_ms', own.fallback_after_ms, 'given with fallback or unclaimed=fail, and only so')
  end
  if own.ordering_key and (own.after or own.gather) then
    return refuse('item[' .. i .. '].ordering_key', own.ordering_key, 'given without after and gather')
  end
end
